import { ConfigError } from '../config-error.ts';
import { programArguments, serviceArguments } from './service-arguments.ts';
import { serviceLayout } from './service-layout.ts';
import type { ServicePrint, ServiceQuestion } from './service-print.ts';

/**
 * What the launcher does with root: gives tools their user (SETUID, SETGID), hands them their pipes (CHOWN), makes mounts of
 * their own (SYS_ADMIN), looks at them from outside (SYS_PTRACE), ends them (KILL) and sets their limits (SYS_RESOURCE).
 */
const CAPABILITIES = 'CAP_SETUID CAP_SETGID CAP_CHOWN CAP_SYS_ADMIN CAP_SYS_PTRACE CAP_KILL CAP_SYS_RESOURCE';

export function systemdUnit({ paths, user }: ServiceQuestion): ServicePrint {
  const { state } = serviceLayout(paths.state);
  const told = serviceArguments({ ...user, state });
  const command = [...programArguments(paths), ...told].map(word).join(' ');
  const path = '/etc/systemd/system/palyrad.service';
  return {
    path,
    text: unitText({ command, owner: user.owner }),
    commands: [
      `useradd --system --no-create-home --shell /usr/sbin/nologin ${user.daemon}`,
      'systemctl daemon-reload',
      'systemctl enable --now palyrad.service',
    ],
  };
}

function unitText({ command, owner }: { command: string; owner: string }): string {
  return `# Printed by \`palyra up --print-service\`.
[Unit]
Description=palyrad, between agents and everything they can touch (for ${owner})
After=network.target

[Service]
Type=exec
# As root, and no User= here: the launcher gives each tool its user. palyrad starts it, then becomes its own user for good
# before it opens anything; only the launcher stays root, and it works for ${owner} alone.
ExecStart=${command}
Restart=on-failure
RestartSec=1
# palyrad is told and ends its tools in order; what is left after that is killed.
KillMode=mixed
TimeoutStopSec=30

# Limits of all processes of a tool together are cgroups of our own, below the service's.
Delegate=cpu memory pids

# setuid programs give nobody anything here. The launcher does not need them: it has what it has from the start.
NoNewPrivileges=yes
CapabilityBoundingSet=${CAPABILITIES}
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
`;
}

/** One word of a command line in a unit. */
function word(text: string): string {
  if (text === '' || /\p{Cc}/u.test(text)) {
    throw new ConfigError('config.invalid_value', 'A path holds what a unit cannot.', { fix: 'Install it elsewhere.' });
  }
  const plain = text.replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[\w%$./@:+,=-]+$/.test(plain) ? plain : `"${plain.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
