"""The search over worlds of many places: breadth first, full states, canonical names; it knows no engine.

`layout`: a world as one vector of small integers; `naming`: worlds that differ in the names of places alone are one;
`kernel`: the inner loop; `compiling`: the same functions as machine code, where numba is installed; `breadth_first`: the
search, its limits and traces.
"""
