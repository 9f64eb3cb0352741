"""A second proof, by drift: the tokens that a state has consumed less those that it is stored under."""
