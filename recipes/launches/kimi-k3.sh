#!/bin/sh
# Kimi-K3 on eight B300, "Balanced" (SGLang, test/registered/models_e2e/test_kimi_k3_b300.py).
exec python -m sglang.launch_server --model-path moonshotai/Kimi-K3 --trust-remote-code \
    --tp-size 8 --dcp-size 8 \
    --mem-fraction-static 0.85 --mamba-full-memory-ratio 7.21 --enable-hierarchical-cache
