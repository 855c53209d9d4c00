import { expect, test } from 'vitest';
import { type ServiceQuestion, servicePrint } from './service-print.ts';

const QUESTION: ServiceQuestion = {
  platform: 'linux',
  paths: { node: '/usr/bin/node', program: '/usr/lib/palyra/palyrad.js', state: '/var/lib/palyra' },
  user: { daemon: 'palyra', owner: 'ada' },
};

test('the systemd unit', () => {
  const { path, text, commands } = servicePrint(QUESTION);
  expect({ path, commands }).toMatchInlineSnapshot(`
    {
      "commands": [
        "useradd --system --no-create-home --shell /usr/sbin/nologin palyra",
        "systemctl daemon-reload",
        "systemctl enable --now palyrad.service",
      ],
      "path": "/etc/systemd/system/palyrad.service",
    }
  `);
  expect(text).toMatchInlineSnapshot(`
    "# Printed by \`palyra up --print-service\`.
    [Unit]
    Description=palyrad, between agents and everything they can touch (for ada)
    After=network.target

    [Service]
    Type=exec
    # As root, and no User= here: the launcher gives each tool its user. palyrad starts it, then becomes its own user for good
    # before it opens anything; only the launcher stays root, and it works for ada alone.
    ExecStart=/usr/bin/node --disable-sigusr1 --no-parallel-scavenge --max-semi-space-size=4 /usr/lib/palyra/palyrad.js --service-user palyra --for ada --state /var/lib/palyra
    Restart=on-failure
    RestartSec=1
    # palyrad is told and ends its tools in order; what is left after that is killed.
    KillMode=mixed
    TimeoutStopSec=30

    # Limits of all processes of a tool together are cgroups of our own, below the service's.
    Delegate=cpu memory pids

    # setuid programs give nobody anything here. The launcher does not need them: it has what it has from the start.
    NoNewPrivileges=yes
    CapabilityBoundingSet=CAP_SETUID CAP_SETGID CAP_CHOWN CAP_SYS_ADMIN CAP_SYS_PTRACE CAP_KILL CAP_SYS_RESOURCE
    AmbientCapabilities=
    # Core files would hold keys and secrets.
    LimitCORE=0
    UMask=0077
    # /usr, /boot and /etc can only be read, by tools of Tier B too.
    ProtectSystem=full
    LockPersonality=yes
    RestrictRealtime=yes
    ProtectKernelModules=yes

    # Left out, because sandboxes would not work, or would be worth less:
    # RestrictNamespaces=, ProtectControlGroups=, SystemCallFilter=@system-service: sandboxes are namespaces, mounts and cgroups.
    # ProtectKernelTunables=, ProtectKernelLogs=, ProtectProc=, ProcSubset=: they mount over parts of /proc, and then the kernel
    #   lets no sandbox have a /proc of its own.
    # ProtectHome=, PrivateTmp=: workspaces may be there. What of a home a tool sees is decided for each tool.
    # MemoryDenyWriteExecute=: Node compiles as it runs.
    # PrivateUsers=, DynamicUser=, User=: the launcher could not take another user's place.

    [Install]
    WantedBy=multi-user.target
    "
  `);
});

test('the launchd plist', () => {
  const { path, text, commands } = servicePrint({
    ...QUESTION,
    platform: 'darwin',
    paths: { ...QUESTION.paths, state: '/Library/Application Support/Palyra & Co' },
  });
  expect({ path, commands }).toMatchInlineSnapshot(`
    {
      "commands": [
        "sysadminctl -addUser palyra -shell /usr/bin/false -home /var/empty",
        "install -d -o palyra -m 700 '/Library/Application Support/Palyra & Co/home'",
        "launchctl bootstrap system /Library/LaunchDaemons/dev.palyra.palyrad.plist",
      ],
      "path": "/Library/LaunchDaemons/dev.palyra.palyrad.plist",
    }
  `);
  expect(text).toMatchInlineSnapshot(`
    "<?xml version="1.0" encoding="UTF-8"?>
    <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
    <!-- Printed by palyra up, print-service. On macOS there is no launcher yet, and palyrad refuses to start tools. -->
    <plist version="1.0">
    <dict>
      <key>Label</key>
      <string>dev.palyra.palyrad</string>
      <key>UserName</key>
      <string>palyra</string>
      <key>ProgramArguments</key>
      <array>
        <string>/usr/bin/node</string>
        <string>--disable-sigusr1</string>
        <string>--no-parallel-scavenge</string>
        <string>--max-semi-space-size=4</string>
        <string>/usr/lib/palyra/palyrad.js</string>
      </array>
      <key>EnvironmentVariables</key>
      <dict>
        <key>PALYRA_HOME</key>
        <string>/Library/Application Support/Palyra &amp; Co/home</string>
      </dict>
      <key>InitGroups</key>
      <false/>
      <key>RunAtLoad</key>
      <true/>
      <key>KeepAlive</key>
      <dict>
        <key>SuccessfulExit</key>
        <false/>
      </dict>
      <key>Umask</key>
      <integer>63</integer>
      <key>HardResourceLimits</key>
      <dict>
        <key>Core</key>
        <integer>0</integer>
      </dict>
    </dict>
    </plist>
    "
  `);
});

test('of a checkout it runs the sources, and not what was once compiled', () => {
  const paths = { ...QUESTION.paths, program: '/src/palyra/apps/daemon/src/main.ts' };
  expect(/^ExecStart=.*$/m.exec(servicePrint({ ...QUESTION, paths }).text)?.[0]).toBe(
    'ExecStart=/usr/bin/node --disable-sigusr1 --no-parallel-scavenge --max-semi-space-size=4 --conditions=palyra-source /src/palyra/apps/daemon/src/main.ts --service-user palyra --for ada --state /var/lib/palyra',
  );
  expect(servicePrint({ ...QUESTION, platform: 'darwin', paths }).text).toContain('--conditions=palyra-source');
});

test('nothing in a path is more than a path', () => {
  const program = '/opt/100% of "it"\\$HOME/palyrad.js';
  const { text } = servicePrint({ ...QUESTION, paths: { ...QUESTION.paths, program } });
  expect(/^ExecStart=.*$/m.exec(text)?.[0]).toBe(
    'ExecStart=/usr/bin/node --disable-sigusr1 --no-parallel-scavenge --max-semi-space-size=4 "/opt/100%% of \\"it\\"\\\\$$HOME/palyrad.js" --service-user palyra --for ada --state /var/lib/palyra',
  );
});

test.each([
  { ...QUESTION, paths: { ...QUESTION.paths, program: '/opt/a\nExecStartPre=/bin/sh' } },
  { ...QUESTION, user: { daemon: 'palyra', owner: 'ada\nUser=root' } },
  { ...QUESTION, user: { daemon: 'ada', owner: 'ada' } },
  { ...QUESTION, platform: 'darwin', user: { daemon: 'palyra', owner: '<root/>' } },
] as readonly ServiceQuestion[])('what such a file cannot hold is refused (%#)', (question) => {
  expect(() => servicePrint(question)).toThrow(expect.objectContaining({ code: 'config.invalid_value' }));
});
