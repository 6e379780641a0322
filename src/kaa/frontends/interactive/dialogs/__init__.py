"""What takes the editor's place for a moment: questions and lists. Loaded behind the first frame."""
