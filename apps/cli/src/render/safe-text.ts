export { safeText } from '@palyra/primitives';
