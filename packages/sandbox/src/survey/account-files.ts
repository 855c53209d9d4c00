/** One line of /etc/passwd, as far as identities need it. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

export interface Group {
  readonly name: string;
  readonly gid: number;
}

/** From /etc/subuid or /etc/subgid: ids that belong to somebody's containers. */
export interface IdRange {
  readonly first: number;
  readonly count: number;
}

/** Lines that are not understood are left out; they are comments, NIS marks or broken. */
export function parsePasswd(text: string): readonly Account[] {
  return fieldsOf(text).flatMap(([name = '', , uid, gid, , home = '']) => {
    const ids = { uid: idOf(uid), gid: idOf(gid) };
    return ids.uid === undefined || ids.gid === undefined ? [] : [{ name, uid: ids.uid, gid: ids.gid, home }];
  });
}

export function parseGroup(text: string): readonly Group[] {
  return fieldsOf(text).flatMap(([name = '', , number]) => {
    const gid = idOf(number);
    return gid === undefined ? [] : [{ name, gid }];
  });
}

export function parseSubordinateIds(text: string): readonly IdRange[] {
  return fieldsOf(text).flatMap(([, start, length]) => {
    const range = { first: idOf(start), count: idOf(length) };
    return range.first === undefined || range.count === undefined ? [] : [{ first: range.first, count: range.count }];
  });
}

function fieldsOf(text: string): readonly (readonly string[])[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(':'));
}

function idOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}
