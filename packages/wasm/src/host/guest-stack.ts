/**
 * The stack of the thread that runs a guest (`resourceLimits.stackSizeMb`), so that ours is always the limit that is met:
 * where V8's is depends on machine and compiler. What compilers make of ordinary modules fits V8's default of 984 KiB;
 * a module made for it has the optimizing one keep many more values than stand on the guest's own stack.
 */
export const GUEST_STACK_MIB = 16;
