"""From cases to pytest files, with what each test is predicted to do on each release."""
