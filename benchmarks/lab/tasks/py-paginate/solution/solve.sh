#!/bin/sh
set -e
here=$(dirname "$0")
cp "$here/notes.py" notes.py
python3 - <<'END'
text = open("test_notes.py").read()
new = """
    def test_a_page(self):
        self.assertEqual(self.listed("a\\nb\\nc\\n", "--size", "2", "--page", "2"), "3. c\\npage 2 of 2\\n")
"""
open("test_notes.py", "w").write(text.replace("\n\nif __name__", new + "\n\nif __name__"))
END
