"""Spans of runs, requests and tool calls for OpenTelemetry: nothing is loaded unless the user switched it on."""
