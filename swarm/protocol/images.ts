/** `images.find`, from a node to each manager: which image it has under the name that a task of the node gives. */
export interface ImageQuery {
  /** As the task says it: a name, a name with a digest, an id. */
  image: string;
  /** For which machine, where there are several under the name; one that says nothing gets that for the manager. */
  platform?: { os: string; architecture: string };
}

/** What a manager has. */
export interface ImageFound {
  /** sha256:..., the digest of its configuration. */
  id: string;
  os: string;
  architecture: string;
  /** When it was given a name last: UNIX time in nanoseconds, decimal. */
  tagged: string;
}

/** Nothing, where the manager has none. */
export interface ImageAnswer {
  found?: ImageFound;
}

/** `images.describe`: of the image that was found; another one under that name by now is not_found. */
export interface ImageRequest extends Pick<ImageQuery, 'image'> {
  id: string;
}

export interface ImageDescribed {
  /** base64 of its configuration, whose digest is the id, and which names the digest of each layer's tar. */
  config: string;
  /** Bytes of the layers' tars, bottom first. */
  layerBytes: number[];
}

/** `images.layer`: the tar of one of its layers, as a stream of pieces: bytes. */
export interface LayerRequest extends ImageRequest {
  /** From 0, bottom first. */
  layer: number;
}
