export * from './browser.ts';
export {
  type DigestInput,
  equalInConstantTime,
  parseSha256Hex,
  type Sha256Hex,
  sha256Bytes,
  sha256Hex,
  sha256OfJson,
  sha256OfParts,
} from './digest.ts';
export { entryUrl } from './entry-url.ts';
export {
  createLogger,
  type LogDestination,
  type LogFields,
  type Logger,
  type LoggerOptions,
  type LogLevel,
  STANDARD_ERROR,
} from './logger.ts';
export { processPlace, processStart } from './process-start.ts';
