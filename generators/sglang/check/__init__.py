"""What SGLang's launches are judged by beside the search: known faults, fixes, evidence, reach."""
