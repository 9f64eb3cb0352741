"""The manifest beside emitted tests: what each of them is predicted to do on every modelled release or design."""

SCHEMA = "gridproof/manifest/1"
