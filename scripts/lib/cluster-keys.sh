# shellcheck shell=bash
# Sourced by quickstart: keys and certificates of the cluster interface on this host.

# make_cluster_keys DIRECTORY ADDRESS:PORT: cert.pem and key.pem of the listener, client-ca.pem, whose certificates it
# lets in, and a kubeconfig with one of these for whoever may read it. What is there and valid for a month more stays.
make_cluster_keys() {
  local directory=$1 address=$2 authority
  if [ -e "$directory/kubeconfig" ] && openssl x509 -noout -checkend 2592000 -in "$directory/cert.pem" >/dev/null; then
    return 0
  fi
  mkdir -p -m 700 "$directory"
  authority=$(mktemp -d)
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 -subj '/CN=berth-quickstart' \
    -keyout "$authority/key.pem" -out "$directory/client-ca.pem" 2>/dev/null
  signed_key "$authority" "$directory/client-ca.pem" "$directory/key.pem" "$directory/cert.pem" /CN=berth \
    "subjectAltName=IP:${address%:*}"
  signed_key "$authority" "$directory/client-ca.pem" "$authority/root.key" "$authority/root.pem" /CN=root \
    'extendedKeyUsage=clientAuth'
  # Last: with it, everything is there.
  kubeconfig "https://$address" "$directory/client-ca.pem" "$authority/root.pem" "$authority/root.key" \
    >"$authority/kubeconfig"
  install -m 600 "$authority/kubeconfig" "$directory/kubeconfig"
  # Nobody makes another certificate with it.
  rm -rf "$authority"
}

# signed_key AUTHORITY CA KEY CERTIFICATE SUBJECT EXTENSION
signed_key() {
  local authority=$1 ca=$2 key=$3 certificate=$4 subject=$5 extension=$6
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "$subject" -keyout "$key" \
    -out "$authority/request.pem" 2>/dev/null
  openssl x509 -req -days 365 -in "$authority/request.pem" -CA "$ca" -CAkey "$authority/key.pem" -CAcreateserial \
    -CAserial "$authority/serial" -extfile <(echo "$extension") -out "$certificate" 2>/dev/null
}

# kubeconfig URL CA CERTIFICATE KEY
kubeconfig() {
  cat <<END
apiVersion: v1
kind: Config
clusters:
- name: berth
  cluster:
    server: $1
    certificate-authority-data: $(base64 -w 0 "$2")
users:
- name: root
  user:
    client-certificate-data: $(base64 -w 0 "$3")
    client-key-data: $(base64 -w 0 "$4")
contexts:
- name: berth
  context:
    cluster: berth
    user: root
current-context: berth
END
}
