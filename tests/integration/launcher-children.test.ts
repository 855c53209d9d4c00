import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const NATIVE = fileURLToPath(new URL('../../packages/sandbox/native', import.meta.url));

const LISTING = `
#include "kill-tree.h"
#include <stdio.h>
int main(int count, char **given) {
  if (count != 2) return 1;
  for (pid_t pid; (pid = next_child(&given[1])) != 0;) printf("%d ", pid);
  return 0;
}
`;

// The list is read into 4 KiB: 512 children of seven digits are more. What is killed by half of its number is a stranger.
test.each([
  ['17602 4194303 ', '17602 4194303 '],
  ['17602 4194303 176', '17602 4194303 '],
  ['17602', ''],
  ['', ''],
])('of the children "%s" those are known whose number is whole: "%s"', (listed, known) => {
  const directory = mkdtempSync(join(tmpdir(), 'palyra-children-'));
  try {
    const program = join(directory, 'listing');
    const sources = ['kill-tree.c', 'texts.c', 'wire.c'].map((name) => join(NATIVE, name));
    const argv = ['-std=c17', '-D_GNU_SOURCE', '-I', NATIVE, '-x', 'c', '-', ...sources, '-o', program];
    execFileSync('cc', argv, { input: LISTING, stdio: ['pipe', 'pipe', 'inherit'] });
    expect(execFileSync(program, [listed]).toString()).toBe(known);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
