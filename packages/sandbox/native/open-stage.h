/* What bubblewrap executes inside, to become the tool. */
#ifndef PALYRA_OPEN_STAGE_H
#define PALYRA_OPEN_STAGE_H

/* A descriptor of a copy of `palyra-stage`, which lies beside us, or of ourselves where there is none that is ours and runs; -1 with
 * errno. Both do the same: the one without a C library, which takes longer to start than all of it. */
int open_stage(void);

#endif
