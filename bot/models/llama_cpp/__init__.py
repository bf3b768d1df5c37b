"""A chat model in a GGUF file on this machine, run by llama.cpp in a process of its own."""
