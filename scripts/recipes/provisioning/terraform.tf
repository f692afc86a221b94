# Creates an API key and writes its secret to a file. The Terraform state does not contain the secret. When Terraform
# destroys the resource, it deletes the key and the file.
#
# Install: copy this file into your module.
# Change:  the name, the permissions and the file. If you change them later, Terraform replaces the key.
# Needs:   service-api, jq, SERVICE_API_URL and SERVICE_API_KEY_FILE on the machine that runs Terraform.
# Repair:  if the key was deleted without Terraform, run this command to create the key again:
#          terraform apply -replace=terraform_data.backup_key
resource "terraform_data" "backup_key" {
  triggers_replace = {
    name        = "backup"
    permissions = "DISK:READ_ANY"
    file        = "${path.module}/backup.key"
  }

  provisioner "local-exec" {
    environment = self.triggers_replace
    command     = <<-EOT
      service-api apikey --create --name "$name" --permissions "$permissions" --overwrite --secret-file "$file"
    EOT
  }

  # The JSON has the member `code` only if the deletion failed. If the key does not exist, there is no `code`.
  provisioner "local-exec" {
    when        = destroy
    environment = self.triggers_replace
    command     = <<-EOT
      service-api apikey --delete --name "$name" --json |
        jq -e 'if .code then error(.error) else .deleted end' &&
        rm -f "$file"
    EOT
  }
}
