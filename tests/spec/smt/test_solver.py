"""Queries and their answers."""

import pickle

from spec.smt import smtlib
from spec.smt.lemmas import LEMMAS
from spec.smt.solver import decide
from tests.spec.smt import cpc


def test_a_query_is_the_same_in_another_process():
    for lemma in LEMMAS.values():
        query = lemma.query()
        sent = pickle.loads(pickle.dumps(query))
        assert (sent.name, sent.linear) == (query.name, query.linear)
        asserted = [set(cpc.assertions(smtlib.text(q))) for q in (sent, query)]
        assert asserted[0] == asserted[1] and decide(sent).result == "unsat"
