/* Requests and one node of the radix tree, in a box: every number is at most MOST tokens.
 *
 * The configuration is any that the start-up guards accept and that fits into the box.  GRID is the grid of decode and
 * verify: the track grid of the newest release, or with -DRAW the interval as the operator asked for it.  Slots hold
 * what was written into them.  The assertion: a node with a state has that state's depth.
 *
 *     spin -a request_life.pml && gcc -O2 -DSAFETY -o pan pan.c && ./pan
 */

#ifndef MOST
#define MOST 24
#endif
#define DRAFT_TOKENS 3

#ifdef RAW
#define GRID interval
#else
#define GRID track_grid
#endif

byte page, dcp, chunk, interval;               /* the launch; tokens, ranks, tokens, tokens */
byte tree_page, cache_chunk, checkpoint_grid, track_grid;
byte booked, consumed;                         /* the request: its depth, and what its state has consumed */
byte recorded, kept;                           /* its checkpoint: depth (0: none), tokens consumed */
byte node, state;                              /* the node: its depth (0: no state), tokens consumed */

byte tokens;                                   /* what an extend or a verify computes */
hidden byte m, donated;                        /* within one atomic step only */

inline least_common(result, a, b) {
    m = a;
    do
    :: m <= MOST && m % b != 0 -> m = m + a
    :: else -> break
    od;
    result = m; m = 0
}

inline forget_checkpoint() { recorded = 0; kept = 0 }

inline save_at(depth_of_it) {
    recorded = depth_of_it; kept = consumed + depth_of_it - booked
}

inline extend() {
    select(tokens : 1 .. MOST - booked);
    atomic {
        donated = 0;
        if
        :: dcp > 1 ->
            donated = (booked + tokens) / checkpoint_grid * checkpoint_grid;
            if
            :: donated > booked && (donated - booked) % cache_chunk == 0
            :: else -> donated = 0
            fi
        :: dcp == 1 && tokens >= checkpoint_grid ->
            donated = booked + tokens / checkpoint_grid * checkpoint_grid
        :: else
        fi;
        if
        :: donated > 0 -> save_at(donated)
        :: else
        fi;
        booked = booked + tokens; consumed = consumed + tokens;
        tokens = 0; donated = 0
    }
}

inline verify() {
    select(tokens : 1 .. DRAFT_TOKENS);
    atomic {
        if
        :: booked + tokens <= MOST ->
            if
            :: booked / GRID != (booked + tokens) / GRID ->
                save_at((booked + tokens) / GRID * GRID)
            :: else
            fi;
            booked = booked + tokens; consumed = consumed + tokens
        :: else
        fi;
        tokens = 0
    }
}

init {
    select(page : 1 .. MOST);
    select(dcp : 1 .. MOST);
    select(chunk : 2 .. MOST);
    select(interval : 1 .. MOST);
    atomic {
        (chunk % page == 0 || page % chunk == 0) && interval % page == 0 && page * dcp <= MOST;
        tree_page = page * dcp;
        cache_chunk = (chunk >= page -> chunk : page);
        least_common(checkpoint_grid, cache_chunk, tree_page);
        checkpoint_grid <= MOST;
        least_common(track_grid, checkpoint_grid, interval);
        track_grid <= MOST
    };
end:
    do
    :: booked < MOST && booked % page == 0 -> extend()
    :: atomic { booked < MOST -> booked++; consumed++;
        if
        :: booked % GRID == 0 -> save_at(booked)
        :: else
        fi }
    :: booked < MOST -> verify()
    :: atomic { recorded > 0 ->
        node = recorded / tree_page * tree_page; state = (node > 0 -> kept : 0);
        forget_checkpoint();
        assert(node == state) }
    :: atomic { node > 0 -> booked = node; consumed = state; forget_checkpoint() }
    :: atomic { booked > 0 -> booked = 0; consumed = 0; forget_checkpoint() }
    :: atomic { recorded > 0 -> forget_checkpoint() }
    :: atomic { node > 0 -> node = 0; state = 0 }
    od
}
