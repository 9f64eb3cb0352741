from gridproof.cli import run

run()
