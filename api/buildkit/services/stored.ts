import type { BuildUpdate } from '../../types/build/status.ts';
import { status } from '../proto/common.ts';
import { statusResponse } from '../proto/control.ts';
import { statusOfBuild } from './errors.ts';
import { updateMessage } from './updates.ts';

/** Builds that have ended are stored as clients are sent them. */
export const storedForm = {
  update: (update: BuildUpdate): Buffer => statusResponse.encode(updateMessage(update)),
  error(error: unknown): { code: number; message: string; bytes: Buffer } {
    const { code, message, details } = statusOfBuild(error);
    return { code, message, bytes: status.encode({ code, message, details: [...details] }) };
  },
};
