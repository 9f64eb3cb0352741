"""All that the jobs need to know of SGLang, one folder a job."""
