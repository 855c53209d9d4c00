import { userInfo } from 'node:os';
import { SetupError } from './setup-error.mjs';

const FORBIDDEN = new Set(['EACCES', 'EPERM', 'EROFS']);

/**
 * A fault of the file system in the words of this set-up; anything else is thrown on as it is.
 * @param {unknown} error
 * @param {string} root
 * @returns {never}
 */
export function throwFileFault(error, root) {
  if (!(error instanceof Error) || error instanceof SetupError || !('syscall' in error)) throw error;
  const { code = '', path = root, message } = /** @type {NodeJS.ErrnoException} */ (error);
  if (!FORBIDDEN.has(code)) {
    throw new SetupError({ code: 'setup.file_failed', message, fix: `put ${path} in order, then run this again.` });
  }
  throw new SetupError({
    code: 'setup.may_not_write',
    message: `this set-up has work to do, and ${userName()} may not write ${path} (${code})`,
    fix: `run this as the owner of ${root}, or in a checkout of your own.`,
  });
}

function userName() {
  try {
    return userInfo().username;
  } catch {
    // No entry for this id in the system's list of users, as in many containers.
    return `user ${process.getuid?.() ?? ''}`.trim();
  }
}
