/* How long a turn on a processor is, and so how soon a process that is woken has one among hundreds that run: who asks for short
 * ones has it within a moment, and gets no more in all than the others do. Since Linux 6.12, for anybody; older kernels take no
 * notice. What is forked has the same. */
#ifndef PALYRA_SHORT_TURNS_H
#define PALYRA_SHORT_TURNS_H

void take_short_turns(void);
/* As everybody has them. */
void take_usual_turns(void);
/* Longer, so that everybody else who is woken comes before a crowd of tools. */
void take_tool_turns(void);

#endif
