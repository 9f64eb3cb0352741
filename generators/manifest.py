"""The manifest beside emitted tests (what each is predicted to do), and the results of a run held against it."""

SCHEMA = "gridproof/manifest/1"
RESULTS_SCHEMA = "gridproof/results/1"
