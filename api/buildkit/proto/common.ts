import { bytes, field, message } from '../../../daemon/base/wire/protobuf.ts';

/** What several services use. */
export const bytesMessage = message({ data: field(1, bytes) });
