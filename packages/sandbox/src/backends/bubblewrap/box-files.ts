/** The user that a tool sees itself as. Which one it really is, is the launcher's affair. */
export const BOX_USER = { name: 'palyra', uid: 1000, gid: 1000, home: '/home/palyra' } as const;

/** Small files of the box's own /etc: programs look up their user and localhost, and must find nothing of the host. */
export const BOX_FILES: readonly { readonly path: string; readonly text: string }[] = [
  {
    path: '/etc/passwd',
    text: [
      'root:x:0:0:root:/nonexistent:/usr/sbin/nologin',
      `${BOX_USER.name}:x:${BOX_USER.uid}:${BOX_USER.gid}:Palyra:${BOX_USER.home}:/bin/sh`,
      'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin',
      '',
    ].join('\n'),
  },
  {
    path: '/etc/group',
    text: ['root:x:0:', 'tty:x:5:', `${BOX_USER.name}:x:${BOX_USER.gid}:`, 'nogroup:x:65534:', ''].join('\n'),
  },
  {
    path: '/etc/nsswitch.conf',
    text: [
      'passwd: files',
      'group: files',
      'shadow: files',
      'hosts: files dns',
      'services: files',
      'protocols: files',
      '',
    ].join('\n'),
  },
  { path: '/etc/hosts', text: '127.0.0.1 localhost palyra\n::1 localhost palyra\n' },
];
