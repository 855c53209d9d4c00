/* The kernel, asked directly. Both kinds of machine that there are sandboxes for; without a header for another one the program is
 * not built there, and the launcher is the stage itself. */
#ifndef PALYRA_SYSTEM_CALL_H
#define PALYRA_SYSTEM_CALL_H

#if defined __x86_64__ && defined __LP64__

static inline long system_call(long number, long a, long b, long c, long d, long e, long f) {
  register long fourth __asm__("r10") = d;
  register long fifth __asm__("r8") = e;
  register long sixth __asm__("r9") = f;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "rcx", "r11", "memory");
  return result;
}

#elif defined __aarch64__ && defined __LP64__

static inline long system_call(long number, long a, long b, long c, long d, long e, long f) {
  register long which __asm__("x8") = number;
  register long first __asm__("x0") = a;
  register long second __asm__("x1") = b;
  register long third __asm__("x2") = c;
  register long fourth __asm__("x3") = d;
  register long fifth __asm__("x4") = e;
  register long sixth __asm__("x5") = f;
  __asm__ volatile("svc #0"
                   : "+r"(first)
                   : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "memory");
  return first;
}

#else
#error "How this machine asks its kernel is not known here."
#endif

#endif
