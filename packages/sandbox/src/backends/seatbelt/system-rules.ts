import { everything, type Filter, fixed, rule, written } from './sbpl.ts';

/** What makes programs start and run. The same for every command; operations as macOS 13 and newer know them. */
export function systemRules(): string {
  return [
    '; Processes\n',
    everything('allow', ['process-fork']),
    rule('allow', ['signal', 'process-info*'], [written('(target same-sandbox)')]),
    '; Kernel\n',
    rule('allow', ['sysctl-read'], SYSCTLS),
    // Reading it passes a buffer, which counts as writing.
    rule('allow', ['sysctl-write'], [fixed('sysctl-name', 'kern.grade_cputype')]),
    rule('allow', ['mach-lookup'], MACH_SERVICES),
    rule('allow', ['system-mac-syscall'], MAC_CALLS),
    // Python's multiprocessing; semaphores have no names that could be told apart here.
    everything('allow', ['ipc-posix-sem']),
    rule('allow', ['ipc-posix-shm*'], [fixed('ipc-posix-name-prefix', '/psm_')]),
    '; System files\n',
    rule('allow', READ, [...ROOT_ITSELF, ...SYSTEM_DIRECTORIES, ...SYSTEM_FILES]),
    rule('allow', ['process-exec*', 'file-map-executable'], SYSTEM_DIRECTORIES),
    rule('allow', ['file-read-metadata', 'file-test-existence'], PLACES_ON_THE_WAY),
    '; Devices\n',
    rule('allow', [...READ, 'file-write-data'], devices(['null', 'zero'])),
    rule('allow', READ, devices(['random', 'urandom', 'autofs_nowait'])),
    rule('allow', ['file-read-data', 'file-test-existence', 'file-write-data'], [fixed('subpath', '/dev/fd')]),
    rule('allow', [...READ, 'file-write-data', 'file-ioctl'], devices(['dtracehelper'])),
  ].join('');
}

export const READ: readonly string[] = ['file-read*', 'file-test-existence'];

/** Last in the profile, so that nothing before it gives any of this away. */
export function closingRules(): string {
  return [
    '; Never\n',
    // SECURITY: T-19 — keychain, pasteboard, the window server and whoever grants permissions.
    rule('deny', ['mach-lookup'], DENIED_SERVICES),
    // SECURITY: T-16 — whoever launchd starts is in no sandbox.
    everything('deny', ['job-creation', 'lsopen', 'appleevent-send']),
    everything('deny', ['authorization-right-obtain', 'distributed-notification-post', 'hid-control']),
    everything('deny', ['device-camera', 'device-microphone', 'user-preference*', 'nvram*', 'iokit-open*']),
    // SECURITY: T-14 — F_MAKECOMPRESSED and F_TRANSFEREXTENTS change files that are open for reading only.
    rule('deny', ['system-fcntl'], [written('(fcntl-command 80 110)')]),
    // SECURITY: T-19 — there is one network on a Mac, and loopback is the operator's.
    rule('deny', ['network-outbound'], [written('(remote ip)')]),
    rule('deny', ['network-bind', 'network-inbound'], [written('(local ip)')]),
  ].join('');
}

const ROOT_ITSELF: readonly Filter[] = [fixed('literal', '/')];

/** No /usr/local and no /opt: what lies there is the operator's, and comes with the toolchains. */
const SYSTEM_DIRECTORIES: readonly Filter[] = [
  '/bin',
  '/sbin',
  '/usr/bin',
  '/usr/lib',
  '/usr/libexec',
  '/usr/sbin',
  '/usr/share',
  '/Library/Apple',
  '/Library/Developer/CommandLineTools',
  '/Library/Frameworks',
  '/Library/Java/JavaVirtualMachines',
  // SECURITY: T-14 — not /System itself: below /System/Volumes/Data everything is there once more, homes included.
  '/System/Cryptexes',
  '/System/Library',
  '/System/Volumes/Preboot/Cryptexes',
  '/System/iOSSupport',
  '/private/var/run/com.apple.security.cryptexd',
].map((path) => fixed('subpath', path));

const SYSTEM_FILES: readonly Filter[] = [
  ...['/private/etc/ssl', '/private/etc/paths.d', '/private/var/db/dyld', '/private/var/db/timezone'].map((path) =>
    fixed('subpath', path),
  ),
  ...['bashrc', 'gitconfig', 'group', 'hosts', 'localtime', 'passwd', 'paths', 'profile', 'protocols', 'services'].map(
    (name) => fixed('literal', `/private/etc/${name}`),
  ),
  ...['zprofile', 'zshrc'].map((name) => fixed('literal', `/private/etc/${name}`)),
  ...['sh', 'developer_dir'].map((name) => fixed('literal', `/private/var/select/${name}`)),
  fixed('literal', '/private/var/db/xcode_select_link'),
];

/** To be stat'ed when a path is resolved; their contents stay unseen. */
const PLACES_ON_THE_WAY: readonly Filter[] = [
  ...['/etc', '/tmp', '/var', '/dev', '/Library', '/opt', '/usr', '/usr/local'].map((path) => fixed('literal', path)),
  ...['/private/etc/localtime', '/private/var/select/sh', '/Library/Developer/CommandLineTools'].map((path) =>
    fixed('path-ancestors', path),
  ),
  ...['/System/Volumes/Preboot/Cryptexes', '/System/Volumes/Data/private'].map((path) => fixed('path-ancestors', path)),
];

function devices(names: readonly string[]): readonly Filter[] {
  return names.map((name) => fixed('literal', `/dev/${name}`));
}

/** SECURITY: T-19 — by name: kern.procargs2 would give away arguments and environment of every process of the user. */
const SYSCTLS: readonly Filter[] = [
  ...['hw.', 'machdep.cpu.'].map((prefix) => fixed('sysctl-name-prefix', prefix)),
  ...[
    'kern.argmax',
    'kern.boottime',
    'kern.hostname',
    'kern.iossupportversion',
    'kern.maxfilesperproc',
    'kern.maxproc',
    'kern.ngroups',
    'kern.osproductversion',
    'kern.osrelease',
    'kern.ostype',
    'kern.osvariant_status',
    'kern.osversion',
    'kern.secure_kernel',
    'kern.sysv.semmns',
    'kern.usrstack64',
    'kern.version',
    'security.mac.lockdown_mode_state',
    'sysctl.proc_cputype',
    'sysctl.proc_native',
    'sysctl.proc_translated',
    'vm.loadavg',
  ].map((name) => fixed('sysctl-name', name)),
];

/** Names of users and groups, and nothing else: each service is a way to somebody who is in no sandbox. */
const MACH_SERVICES: readonly Filter[] = [
  fixed('global-name', 'com.apple.system.opendirectoryd.libinfo'),
  fixed('global-name', 'com.apple.system.opendirectoryd.membership'),
];

/** What dyld asks before a program's first instruction. */
const MAC_CALLS: readonly Filter[] = [
  written('(mac-policy-name "vnguard")'),
  written('(require-all (mac-policy-name "Sandbox") (mac-syscall-number 67))'),
];

/** Denied already, as all that is not allowed; written down so that no later rule opens one by mistake. */
const DENIED_SERVICES: readonly Filter[] = [
  ...[
    'com.apple.SecurityServer',
    'com.apple.coreservices.appleevents',
    'com.apple.coreservices.launchservicesd',
    'com.apple.coreservices.quarantine-resolver',
    'com.apple.launchservicesd',
    'com.apple.lsd.mapdb',
    'com.apple.lsd.open',
    'com.apple.xpc.smd',
  ].map((name) => fixed('global-name', name)),
  ...[
    'com.apple.CoreServices.',
    'com.apple.cfprefsd',
    'com.apple.launchd',
    'com.apple.pasteboard',
    'com.apple.pboard',
    'com.apple.secd',
    'com.apple.securityd',
    'com.apple.tccd',
    'com.apple.windowserver',
    'com.apple.xpc.launchd',
  ].map((prefix) => fixed('global-name-prefix', prefix)),
  fixed('xpc-service-name-prefix', ''),
];
