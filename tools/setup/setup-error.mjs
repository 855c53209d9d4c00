/** Codes are API: add one, never rename one. Exit codes are the `palyra` command's; 130 is the shell's for Ctrl-C. */
export const SETUP_ERRORS = {
  /** An option is unknown or its value is not one of those allowed. */
  'setup.bad_usage': { exitCode: 2 },
  /** npm was not found. */
  'setup.npm_missing': { exitCode: 5 },
  /** npm could not install the dependencies. */
  'setup.npm_failed': { exitCode: 1 },
  /** npm reported success and left packages out. */
  'setup.npm_incomplete': { exitCode: 1 },
  /** The Node this project runs on was not found. */
  'setup.node_missing': { exitCode: 5 },
  /** System packages are missing and this user may not install them. */
  'setup.may_not_install': { exitCode: 3 },
  /** System packages are missing and this system has no apt-get. */
  'setup.unknown_system': { exitCode: 5 },
  /** apt-get could not install the system packages. */
  'setup.apt_failed': { exitCode: 1 },
  /** There is no C compiler for the launcher. */
  'setup.no_compiler': { exitCode: 5 },
  /** The launcher does not compile. */
  'setup.compile_failed': { exitCode: 1 },
  /** The query builder does not go into one file. */
  'setup.bundle_failed': { exitCode: 1 },
  /** Another set-up kept its lock for too long. */
  'setup.lock_timeout': { exitCode: 7 },
  /** The lock is not a file, so no set-up made it. */
  'setup.lock_unusable': { exitCode: 7 },
  /** This user may not write into the checkout. */
  'setup.may_not_write': { exitCode: 3 },
  /** A file or folder of the checkout could not be read or written (a full disk, a file where a folder should be). */
  'setup.file_failed': { exitCode: 1 },
  /** A signal stopped the set-up. */
  'setup.interrupted': { exitCode: 130 },
};

/** A step that cannot go on: what happened, and the one thing to do about it. */
export class SetupError extends Error {
  /** @param {{ code: keyof typeof SETUP_ERRORS, message: string, fix: string, output?: string }} fault */
  constructor({ code, message, fix, output }) {
    super(message);
    this.name = 'SetupError';
    this.code = code;
    this.fix = fix;
    /** The last lines of the command that failed. */
    this.output = output;
  }
}
