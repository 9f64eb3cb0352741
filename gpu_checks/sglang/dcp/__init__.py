"""Decode context parallelism: paged keys and values spread over ranks, in one process or in several."""
