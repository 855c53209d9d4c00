import { posix } from 'node:path';

/**
 * Every name under which a file called this may be known: `/usr/bin/python3.11` is python3.11 and python. Too many names
 * cost a refusal, one too few is a hole.
 */
export function programNames(path: string): readonly string[] {
  const name = posix
    .basename(path)
    .toLowerCase()
    .replace(/^-+/, '')
    .replace(/\.exe$/, '');
  // SECURITY: T-13 — the dynamic loader runs the program that it is given, under whatever name this C library has for it.
  if (LOADER.test(name)) return [name, 'ld.so'];

  // `vim.basic`, `bash-static`, `php8.2-cgi`, `x86_64-linux-gnu-gcc-12`, `python3-dbg`, `perl5.36.0`, `perl5.36-x86_64-linux-gnu`.
  const names = [TRIPLE, TRIPLE_BEHIND, FLAVOUR, VERSION, FLAVOUR].reduce(
    (known, trim) => known.concat(known.map((spelling) => spelling.replace(trim, ''))),
    [name],
  );
  return [...new Set(names)].filter((known) => known !== '');
}

const LOADER = /^(?:ld|ld-linux.*|ld-musl.*|ld-\d.*|ld64|rtld.*|ld-elf.*)\.so(?:\..*)?$/;
const TRIPLE = /^(?:x86_64|i[3-6]86|aarch64|arm|armv7l|riscv64|powerpc64le|s390x)(?:-[a-z0-9_]+){1,3}-(?=[a-z])/;
const TRIPLE_BEHIND = /-(?:x86_64|i[3-6]86|aarch64|arm|armv7l|riscv64|powerpc64le|s390x)(?:-[a-z0-9_]+){1,3}$/;
const FLAVOUR =
  /(?:[.-](?:basic|tiny|nox|gtk3?|athena|static|dbg|debug|preview|lts|cgi|jit|restricted|real|bin|wrapped))+$/;
const VERSION = /[-._]?v?\d+(?:[._-]\d+)*[a-z]{0,2}$/;
