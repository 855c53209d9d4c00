/**
 * What a `.git` file, or a `commondir`, says, as git reads it. SECURITY: T-44 — of line ends any number is taken off, and
 * nothing else: what we would take off as well, or leave, would lead us to one repository and git to another.
 */
export function namedByPointer(file: '.git' | 'commondir', text: string): string | undefined {
  return PATTERNS[file].exec(text)?.[1];
}

const PATTERNS = {
  '.git': /^gitdir: ([^\0\r\n]+)[\r\n]*$/,
  commondir: /^([^\0\r\n]+)[\r\n]*$/,
} as const;
