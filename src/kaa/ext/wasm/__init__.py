"""Extensions as WebAssembly components."""
