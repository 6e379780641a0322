"""Google's Gemini, at Google AI and at Vertex AI."""
