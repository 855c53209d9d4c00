import { shellWord } from '../shell-word.ts';
import { programArguments, serviceArguments } from './service-arguments.ts';
import { serviceLayout } from './service-layout.ts';
import type { ServicePrint, ServiceQuestion } from './service-print.ts';

const LABEL = 'dev.palyra.palyrad';

/** macOS has no launcher yet: palyrad runs as its own user and nothing else, and refuses to start tools. */
export function launchdPlist({ paths, user }: ServiceQuestion): ServicePrint {
  const { home } = serviceLayout(paths.state);
  // Checked as for the other systems; root has nothing to do here, so palyrad is not told.
  serviceArguments({ ...user, state: paths.state });
  const path = `/Library/LaunchDaemons/${LABEL}.plist`;
  return {
    path,
    text: plistText({ argv: programArguments(paths), home, daemon: user.daemon }),
    commands: [
      `sysadminctl -addUser ${user.daemon} -shell /usr/bin/false -home /var/empty`,
      `install -d -o ${user.daemon} -m 700 ${shellWord(home)}`,
      `launchctl bootstrap system ${path}`,
    ],
  };
}

function plistText({ argv, home, daemon }: { argv: readonly string[]; home: string; daemon: string }): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Printed by palyra up, print-service. On macOS there is no launcher yet, and palyrad refuses to start tools. -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${LABEL}</string>
  <key>UserName</key>
  <string>${escaped(daemon)}</string>
  <key>ProgramArguments</key>
  <array>
${argv.map((each) => `    <string>${escaped(each)}</string>`).join('\n')}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>PALYRA_HOME</key>
    <string>${escaped(home)}</string>
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
`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
