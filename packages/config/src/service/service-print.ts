import { launchdPlist } from './launchd-plist.ts';
import { systemdUnit } from './systemd-unit.ts';

export interface ServiceQuestion {
  readonly platform: 'linux' | 'darwin';
  readonly paths: {
    readonly node: string;
    /** What Node runs: palyrad. */
    readonly program: string;
    readonly state: string;
  };
  readonly user: {
    /** The account of palyrad itself. */
    readonly daemon: string;
    /** Who owns the workspaces. */
    readonly owner: string;
  };
}

export interface ServicePrint {
  /** Where the text belongs. */
  readonly path: string;
  readonly text: string;
  /** What root types to have it, in order. */
  readonly commands: readonly string[];
}

/** Makes nothing. Throws `config.invalid_value` for names and paths that such a file cannot hold. */
export function servicePrint(question: ServiceQuestion): ServicePrint {
  switch (question.platform) {
    case 'linux':
      return systemdUnit(question);
    case 'darwin':
      return launchdPlist(question);
  }
}
