import { readTar } from './tar.ts';

/** The layers of a tarball of `docker save` with `manifest.json`, of any age; bottom first, image after image. */
export function savedLayers(tarball: Buffer): Buffer[] {
  const members = readTar(tarball);
  const manifest = JSON.parse(members.get('manifest.json')?.toString() ?? '[]') as { Layers: string[] }[];
  return manifest.flatMap(({ Layers }) => Layers.map((name) => members.get(name) ?? Buffer.alloc(0)));
}
