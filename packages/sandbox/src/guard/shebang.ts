/** What the kernel starts for a script. */
export interface Shebang {
  readonly path: string;
  readonly argument: string | undefined;
  /** The program that `env` would look up: `#!/usr/bin/env -S node --flag` names node. */
  readonly program: string | undefined;
}

/** Of the first bytes of a file; undefined when they do not begin with `#!`. */
export function readShebang(bytes: Uint8Array): Shebang | undefined {
  const [line = ''] = new TextDecoder('latin1').decode(bytes).split('\n', 1);
  const match = /^#![ \t]*([^ \t\r\0]*)[ \t]*([^\0]*)/.exec(line);
  if (match === null) return undefined;
  const [, path = '', rest = ''] = match;
  const argument = rest.trim();
  const program = /(?:^|\/)env$/.test(path) ? programOfEnv(argument) : undefined;
  return { path, argument: argument === '' ? undefined : argument, program };
}

function programOfEnv(argument: string): string | undefined {
  const words = argument
    .replace(/^(?:-[a-z]*S|--split-string=?)/, ' ')
    .split(/[ \t]+/)
    .filter((word) => word !== '');
  return words.find((word) => !word.startsWith('-') && !word.includes('='));
}
