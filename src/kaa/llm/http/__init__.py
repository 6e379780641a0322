"""HTTP as the adapters need it: requests, streamed answers, connections, proxies."""
