"""SGLang: its configuration, its checkpoint rules, one named design a release, and the theorems about them."""
