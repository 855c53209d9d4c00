/* How soon a process that is woken has its turn among hundreds that run: who asks for short turns has it within a moment, and gets
 * no more in all than the others do. Since Linux 6.12, for anybody; older kernels take no notice. What is forked has the same. */
#ifndef PALYRA_SHORT_TURNS_H
#define PALYRA_SHORT_TURNS_H

void take_short_turns(void);
void take_usual_turns(void);

#endif
