import { unreadable, wholeLines, wholeNumber } from './unreadable.ts';

/** One line of /proc/PID/mountinfo. */
export interface Mount {
  readonly id: number;
  readonly parentId: number;
  /** `major:minor`. */
  readonly device: string;
  /** Of the file system that is mounted, the part that is seen here. */
  readonly root: string;
  readonly at: string;
  readonly options: readonly string[];
  readonly fsType: string;
  readonly superOptions: readonly string[];
  /** Whether what is mounted on the host later appears here too. */
  readonly followsHost: boolean;
  /**
   * All of it but ids, device numbers and peer groups, which differ from one sandbox to the next. An array of texts: there is
   * one spelling of that, and none of it can run into its neighbour.
   */
  readonly spelled: string;
}

/** In the kernel's order, which is the order of mounting. */
export function parseMountinfo(text: string): readonly Mount[] {
  const mounts = wholeLines('mountinfo', text).map(parseMount);
  if (new Set(mounts.map(({ id }) => id)).size < mounts.length) throw unreadable('mountinfo', 'a mount is there twice');
  return mounts;
}

/** A mount is read-only by itself or because its file system is; the first option of either says so. */
export function isWritable({ options, superOptions }: Mount): boolean {
  return options[0] === 'rw' && superOptions[0] === 'rw';
}

/** `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`; a space in a name is `\040`. */
function parseMount(line: string): Mount {
  const [, id, parentId, device, rest] = /^([^ ]+) ([^ ]+) ([0-9]+:[0-9]+) (.*)$/s.exec(line) ?? [];
  if (device === undefined || rest === undefined) throw unreadable('mountinfo', 'a line is malformed');
  return {
    id: wholeNumber('mountinfo', id),
    parentId: wholeNumber('mountinfo', parentId),
    device,
    ...knownMount(rest),
  };
}

type WhatIsMounted = Omit<Mount, 'id' | 'parentId' | 'device'>;

const known = new Map<string, WhatIsMounted>();
const MOST_KNOWN = 512;

/** The same texts for every command with one profile: only the numbers before them differ. */
function knownMount(text: string): WhatIsMounted {
  const before = known.get(text);
  if (before !== undefined) return before;
  const mount = parseWhatIsMounted(text);
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(text, mount);
  return mount;
}

function parseWhatIsMounted(text: string): WhatIsMounted {
  const fields = text.split(' ');
  const dash = fields.indexOf('-', 3);
  const [root, at, options, ...optional] = fields.slice(0, Math.max(dash, 0));
  const [fsType, source, superOptions, ...rest] = fields.slice(dash + 1);
  const wellFormed = dash !== -1 && rest.length === 0 && optional.every((field) => /^[a-z_]+(?::[0-9]+)?$/.test(field));
  if (!wellFormed || !root || !at?.startsWith('/') || !fsType || source === undefined) {
    throw unreadable('mountinfo', 'a line is malformed');
  }
  const mount = {
    root: unescaped(root),
    at: unescaped(at),
    options: optionList(options),
    fsType: unescaped(fsType),
    superOptions: optionList(superOptions),
    followsHost: optional.some((field) => field.startsWith('master:') || field.startsWith('shared:')),
  };
  const { options: own, superOptions: whole } = mount;
  const spelled = JSON.stringify([mount.at, mount.root, mount.fsType, own.toSorted(), whole.toSorted()]);
  return { ...mount, spelled };
}

/** A backslash that is no escape could stand for anything, so it is refused like an escape beyond ASCII. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})?/g, (_, octal: string | undefined) => {
    const code = octal === undefined ? 0 : Number.parseInt(octal, 8);
    if (code === 0 || code > 0x7f) throw unreadable('mountinfo', 'an escape is malformed');
    return String.fromCharCode(code);
  });
}

function optionList(text: string | undefined): readonly string[] {
  const options = (text ?? '').split(',');
  // The kernel writes this word first; a file system's own options come later and could look like it.
  if (options[0] !== 'ro' && options[0] !== 'rw') throw unreadable('mountinfo', 'a line says neither ro nor rw');
  return options;
}
