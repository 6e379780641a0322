import contextlib
import io
import os
import tempfile
import unittest

import notes


class NotesTest(unittest.TestCase):
    def listed(self, text, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "notes.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                notes.main([path, *arguments])
            return printed.getvalue()

    def test_notes_have_numbers(self):
        self.assertIn("1. tea\n2. milk\n", self.listed("tea\n\nmilk\n"))


if __name__ == "__main__":
    unittest.main()
