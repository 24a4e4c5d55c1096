import type { OciDescriptor } from '../../../storage/image-archives/oci-documents.ts';

/** What a client is told of an image beside its digest: its metadata file has it, and the index of its directory. */
export function descriptorFact(descriptor: OciDescriptor): readonly [string, string] {
  return ['containerimage.descriptor', Buffer.from(JSON.stringify(descriptor)).toString('base64')];
}
