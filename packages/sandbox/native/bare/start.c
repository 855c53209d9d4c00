/* The beginning of a program that has, in place of a C library, the few functions of it that it uses: to start one takes longer than
 * everything that these programs do. */
#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* The kernel leaves everything on the stack, and no address to return to. */
#if defined __x86_64__
__asm__(".pushsection .text\n"
        ".globl _start\n"
        ".type _start, @function\n"
        "_start:\n"
        "  xor %ebp, %ebp\n"
        "  mov %rsp, %rdi\n"
        "  and $-16, %rsp\n"
        "  call begin\n"
        ".popsection\n");
#elif defined __aarch64__
__asm__(".pushsection .text\n"
        ".globl _start\n"
        ".type _start, %function\n"
        "_start:\n"
        "  mov x29, #0\n"
        "  mov x30, #0\n"
        "  mov x0, sp\n"
        "  bl begin\n"
        ".popsection\n");
#endif

/* What the compiler puts between a function's variables and where it returns to (-mstack-protector-guard=global). */
uintptr_t __stack_chk_guard;

/* Some programs say with their end what becomes of others (GUARD_EXIT): then there is no end that says less. */
_Noreturn void __stack_chk_fail(void);
_Noreturn void __stack_chk_fail(void) {
#ifdef GUARD_EXIT
  _exit(GUARD_EXIT);
#else
  __builtin_trap();
#endif
}

int main(int count, char **arguments);

/* `stack`: the number of arguments, these and a NULL, the environment and a NULL, then pairs of what the kernel says. Guards are
 * looked at where a function returns, and this one does not. */
_Noreturn void begin(uintptr_t *stack);
_Noreturn void begin(uintptr_t *stack) {
  const uintptr_t *at = stack + 1 + stack[0] + 1;
  while (*at != 0) at += 1;
  for (at += 1; at[0] != AT_NULL; at += 2) {
    if (at[0] == AT_RANDOM) memcpy(&__stack_chk_guard, (const void *)at[1], sizeof __stack_chk_guard);
  }
  /* Its first byte is a NUL, as everywhere: a text that runs over neither reads nor writes it. */
  __stack_chk_guard &= ~(uintptr_t)0xff;
  _exit(main((int)stack[0], (char **)(stack + 1)));
}
