"""From text to the words of a launch command: shell, files of every format, folders; nothing is judged here."""
