import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseGroup, parsePasswd, parseSubordinateIds } from './account-files.ts';
import { chooseIdentity, type IdentityFacts, lastUnusedId, powerfulGroups } from './tool-identity.ts';

const PASSWD = `root:x:0:0:root:/root:/bin/bash
# comment
+::::::
alice:x:1000:1000:Alice,,,:/home/alice:/bin/bash
dora:x:1001:998::/home/dora:/bin/sh
rudi:x:1002:0::/home/rudi:/bin/sh
broken:x:abc:1
`;
const GROUP = `root:x:0:
users:x:100:
alice:x:1000:
docker:x:998:alice
other:x:1002:
`;

const FACTS: IdentityFacts = {
  launcherUid: 0,
  workspaceOwner: { uid: 1000, gid: 1000 },
  access: 'read-write',
  passwd: PASSWD,
  group: GROUP,
  subuid: 'alice:100000:65536\n',
  subgid: 'alice:100000:65536\n',
  processUids: [0, 1000],
};

function owned(uid: number, changed: Partial<IdentityFacts> = {}) {
  return chooseIdentity({ ...FACTS, workspaceOwner: { uid, gid: uid }, ...changed });
}

describe('whose uid a tool gets', () => {
  test('a launcher without privileges has only its own', () => {
    expect(owned(0, { launcherUid: 1000 })).toEqual({ kind: 'own' });
  });

  test('of one that works for one user, that user’s and nobody else’s, root’s neither', () => {
    const only = { uid: 1000, gid: 870_000 };
    expect(owned(1000, { only })).toEqual({ kind: 'owner', ...only });
    for (const uid of [0, 1001, 65_534]) expect(owned(uid, { only }).kind).toBe('refused');
    // What is root's may be read, with that user's own rights.
    const read = { only, access: 'read-only' } as const;
    expect(owned(0, read)).toEqual({ kind: 'owner', ...only });
    for (const uid of [1001, 65_534]) expect(owned(uid, read).kind).toBe('refused');
  });

  test('the workspace owner’s, with the primary group', () => {
    expect(owned(1000)).toEqual({ kind: 'owner', uid: 1000, gid: 1000 });
  });

  test('a primary group that means power is replaced by a number that is nobody’s', () => {
    expect(owned(1001)).toEqual({ kind: 'owner', uid: 1001, gid: 1001 });
    // 1002 is somebody else's group already.
    expect(owned(1002)).toEqual({ kind: 'owner', uid: 1002, gid: 870_000 });
  });

  test('a second name for a number counts', () => {
    expect(owned(1000, { group: `${GROUP}lxd:x:1000:\n` })).toEqual({ kind: 'owner', uid: 1000, gid: 870_000 });
  });

  test('an owner without an account', () => {
    expect(owned(4242)).toEqual({ kind: 'owner', uid: 4242, gid: 4242 });
    // The number of the disk group, on a machine whose group file was not there.
    expect(owned(6, { group: '' })).toEqual({ kind: 'owner', uid: 6, gid: 870_000 });
    const passwd = 'eve:x:1003:6::/home/eve:/bin/sh\n';
    expect(owned(1003, { passwd, group: '' })).toEqual({ kind: 'owner', uid: 1003, gid: 1003 });
  });

  test('nobody’s where the workspace is root’s', () => {
    expect(owned(0)).toEqual({ kind: 'unused', uid: 870_000, gid: 870_000 });
  });

  test('nobody’s is in no file and runs nothing', () => {
    const passwd = `${PASSWD}x:x:870000:5000::/:/bin/false\n`;
    const group = `${GROUP}y:x:870001:\n`;
    const subuid = 'bob:870002:2\n';
    const subgid = 'bob:870004:1\n';
    expect(owned(0, { passwd, group, subuid, subgid, processUids: [870_005] })).toEqual({
      kind: 'unused',
      uid: 870_006,
      gid: 870_006,
    });
  });

  test('none left, and owners that are nobody, are refused', () => {
    expect(owned(0, { subuid: 'bob:800000:1000000\n' })).toMatchObject({ kind: 'refused' });
    for (const uid of [65_534, -1, 2 ** 32 - 1, 1.5, Number.NaN]) expect(owned(uid)).toMatchObject({ kind: 'refused' });
  });
});

describe('groups that are root by a socket, a device or a file', () => {
  test('are named, in the order of the file', () => {
    const group = `${GROUP}disk:x:6:\nlxd:x:110:alice\n`;
    expect(powerfulGroups([1000, 110, 998, 6], group)).toEqual(['docker', 'disk', 'lxd']);
    expect(powerfulGroups([0, 1000], group)).toEqual(['root']);
  });

  test.each(['docker', 'lxd', 'incus', 'incus-admin', 'libvirt', 'libvirtd', 'disk', 'kmem', 'mem', 'shadow', 'root'])(
    '%s is one',
    (name) => {
      expect(powerfulGroups([77], `${name}:x:77:\n`)).toEqual([name]);
    },
  );

  // Their members are asked for a password, or only read: a setuid program cannot help them without new privileges.
  test.each(['sudo', 'wheel', 'adm', 'video', 'users', 'dockers', 'Docker', ''])('%s is none', (name) => {
    expect(powerfulGroups([77], `${name}:x:77:\n`)).toEqual([]);
  });

  test('count only where the number is one’s own, whoever the file says is a member', () => {
    expect(powerfulGroups([1000, 100], GROUP)).toEqual([]);
    expect(powerfulGroups([], GROUP)).toEqual([]);
  });

  test('a second name for a number counts, and what cannot be read does not', () => {
    expect(powerfulGroups([1000], `${GROUP}lxd:x:1000:\n`)).toEqual(['lxd']);
    expect(powerfulGroups([998], '')).toEqual([]);
    expect(powerfulGroups([998], 'docker:x:abc:\n')).toEqual([]);
  });
});

test('property: never root, never a group that means power, and always the same answer', () => {
  const ids = fc.oneof(fc.constantFrom(0, 6, 42, 998, 1000, 65_534, 870_000, 870_001), fc.nat({ max: 2 ** 32 - 1 }));
  const names = fc.constantFrom('a', 'docker', 'disk', 'sudo', 'users');
  const passwd = fc.array(fc.tuple(names, ids, ids)).map((all) => all.map(([n, u, g]) => `${n}:x:${u}:${g}::/:`));
  const group = fc.array(fc.tuple(names, ids));
  fc.assert(
    fc.property(ids, passwd, group, fc.array(ids), (uid, accounts, groups, processUids) => {
      const facts: IdentityFacts = {
        ...FACTS,
        workspaceOwner: { uid, gid: 0 },
        passwd: accounts.join('\n'),
        group: groups.map(([name, gid]) => `${name}:x:${gid}:`).join('\n'),
        processUids,
      };
      const choice = chooseIdentity(facts);
      expect(chooseIdentity(facts)).toEqual(choice);
      if (choice.kind === 'own' || choice.kind === 'refused') return;
      expect(Math.min(choice.uid, choice.gid)).toBeGreaterThan(0);
      const named = groups.filter(([, gid]) => gid === choice.gid).map(([name]) => name);
      expect(named).not.toEqual(expect.arrayContaining(['docker']));
      expect(named).not.toEqual(expect.arrayContaining(['disk']));
      expect(choice.kind).toBe(uid === 0 ? 'unused' : 'owner');
      expect(choice.kind === 'unused' && processUids.includes(choice.uid)).toBe(false);
    }),
  );
});

test('what is no tool’s is looked for from the other end, and is nobody’s either', () => {
  const facts = { passwd: '', group: '', subuid: '', subgid: '', processUids: [] };
  expect(lastUnusedId(facts)).toBe(879_999);
  const taken = { ...facts, passwd: 'a:x:879999:1::/:', group: 'b:x:879998:', processUids: [879_997] };
  expect(lastUnusedId(taken)).toBe(879_996);
  expect(lastUnusedId({ ...facts, subuid: 'a:870001:9999' })).toBeUndefined();
});

test('broken lines are left out', () => {
  expect(parsePasswd(PASSWD).map(({ name }) => name)).toEqual(['root', 'alice', 'dora', 'rudi']);
  expect(parseGroup('a:x:\n:x:5:\nb:x:7:c,d')).toEqual([
    { name: '', gid: 5 },
    { name: 'b', gid: 7 },
  ]);
  expect(parseSubordinateIds('alice:1:2\nbob:x:1\n1000:5:6')).toEqual([
    { first: 1, count: 2 },
    { first: 5, count: 6 },
  ]);
});
