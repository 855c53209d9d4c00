import type { Stats } from 'node:fs';

/** The path is only named in the fix, as a word for a shell. */
export interface Owned extends Pick<Stats, 'uid' | 'mode'> {
  readonly word: string;
}

/** `sentence` completes "FILE …". */
export interface OwnershipFault {
  readonly sentence: string;
  readonly fix: string;
}

const GROUP_OR_OTHERS_WRITE = 0o022;
const GROUP_OR_OTHERS_ANYTHING = 0o077;

/** Root can write every file anyway, so a file of root is as good as our own. Without uids (Windows) nothing is judged. */
export function othersMayWrite(file: Owned, ourUid: number | undefined): OwnershipFault | undefined {
  if (ourUid === undefined) return undefined;
  if (file.uid !== ourUid && file.uid !== 0) {
    const chown = `${ourUid === 0 ? '' : 'sudo '}chown ${ourUid} ${file.word}`;
    return { sentence: `belongs to another user (uid ${file.uid})`, fix: `Look through it, then run: ${chown}` };
  }
  if ((file.mode & GROUP_OR_OTHERS_WRITE) === 0) return undefined;
  return {
    sentence: `can be changed by other users (mode ${octal(file.mode)})`,
    fix: `Look through it, then run: chmod go-w ${file.word}`,
  };
}

/** A directory with secrets in it: ours alone, and closed to everyone else. */
export function othersMayEnter(directory: Owned, ourUid: number | undefined): OwnershipFault | undefined {
  if (ourUid === undefined) return undefined;
  if (directory.uid !== ourUid) {
    // Not a chown: taking over the directory of another user is rarely what was meant, and `sudo palyra` often is.
    return {
      sentence: `belongs to another user (uid ${directory.uid})`,
      fix: 'Run as that user, or choose another home.',
    };
  }
  if ((directory.mode & GROUP_OR_OTHERS_ANYTHING) === 0) return undefined;
  return {
    sentence: `is open to other users (mode ${octal(directory.mode)})`,
    fix: `Run: chmod 700 ${directory.word}`,
  };
}

function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}
