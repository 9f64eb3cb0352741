"""From a launch to a verdict: findings, fixes, waivers."""
